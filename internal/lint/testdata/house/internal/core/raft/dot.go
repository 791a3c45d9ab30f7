package raft

import . "time"

var begun = Now()
