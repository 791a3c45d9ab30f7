// Command gen writes the codecs of internal/base/metarec from the definitions
// in schema/. It takes no arguments and finds the module by its go.mod:
//
//	go generate ./internal/base/metarec
//
// Its output depends on the definitions alone. A test regenerates it in memory
// and compares.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	files, err := generate(filepath.Join(root, "schema"))
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, outDir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// outDir is where the generated package lives, from the module's root.
const outDir = "internal/base/metarec"

// generate returns the generated files by name.
func generate(schemaDir string) (map[string][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(schemaDir, "*.rec"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	out := map[string][]byte{}
	var families []*family
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		fam, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		families = append(families, fam)
		name := strings.TrimSuffix(filepath.Base(path), ".rec") + "_gen.go"
		if out[name], err = emitFamily(fam); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	out["types_gen.go"], err = emitTypes(families)
	return out, err
}

// moduleRoot is the nearest folder at or above the working one with a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod at or above the working directory")
		}
		dir = up
	}
}
