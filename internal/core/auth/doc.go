// Package auth decides who may do what, and keeps the arithmetic of secrets: what is
// stored of a SCRAM password, what a delegation token is worth. It computes and
// compares over values; it stores nothing and asks nobody.
package auth
