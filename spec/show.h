/* Shows the states of quorum.pml as internal/spec reads them: see Projection there. */
#include <stdlib.h>
#include <string.h>
/* A set of projected states, as open addresses; written to a file at the end. */
static char (*shown)[128];
static unsigned places = 1 << 12, used;
static void shownAdd(const char *line) {
	unsigned long h = 5381;
	const char *c;
	for (c = line; *c; c++) h = h * 33 + (unsigned char) *c;
	h ^= h >> 17;
	for (;; h++) {
		char *at = shown[h & (places - 1)];
		if (!*at) { strcpy(at, line); used++; return; }
		if (!strcmp(at, line)) return;
	}
}
static void shownGrow(void) {
	char (*old)[128] = shown;
	unsigned k, was = places;
	places *= 4; used = 0;
	shown = calloc(places, 128);
	for (k = 0; k < was; k++) if (old[k][0]) shownAdd(old[k]);
	free(old);
}
static void shownWrite(void) {
	FILE *f = fopen(getenv("SPEC_SHOWN"), "w");
	unsigned k;
	for (k = 0; f && k < places; k++) if (shown[k][0]) fprintf(f, "%s\n", shown[k]);
	if (f) fclose(f);
}
static int shownLog(char *to, int log) {
	int at = 0;
	if (!log) to[at++] = '-';
	for (; log; log >>= 2) to[at++] = '0' + (log & 3);
	return at;
}
static void showNow(void) {
	static const char *roles[] = {"unattached", "prospective", "candidate", "leader", "follower", "resigned"};
	char line[128];
	int at = 0;
	unsigned q;
	if (!shown) { shown = calloc(places, 128); atexit(shownWrite); }
	for (q = 1; q < sizeof now.n / sizeof now.n[0]; q++) {
		int role = now.n[q].role, hw = now.n[q].hw;
		at += sprintf(line + at, "%s%d %s %d %d ", q > 1 ? "|" : "", now.n[q].epoch, roles[role],
			role == 3 || role == 5 ? 0 : now.n[q].voted, now.n[q].leader);
		at += shownLog(line + at, now.n[q].written);
		at += hw ? sprintf(line + at, " %d", hw) : sprintf(line + at, " -");
	}
	if (used * 2 > places) shownGrow();
	shownAdd(line);
}
