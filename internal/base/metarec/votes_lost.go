package metarec

// VotesLostFile, in the folder of the metadata log, says that the election state was
// missing at a start, and that what this node has voted before may still count. It is
// ours, and without content.
const VotesLostFile = ".ottla-votes-lost"
