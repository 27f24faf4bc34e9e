//go:build !unix

package main

// descriptorWarning has nothing to say where files are not limited in number.
func descriptorWarning(int) string { return "" }
