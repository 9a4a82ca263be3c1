import { readFileSync } from 'node:fs'
import { init_panic_hook as explainPanics, initSync } from 'tfhe'
// A literal import of this type makes the bundler embed the file in the executable.
import wasmPath from 'tfhe/tfhe_bg.wasm' with { type: 'file' }

/** Loads the FHE code, once per thread (0.1 s, 40 MB). */
export function loadTfhe(): void {
  initSync({ module: readFileSync(wasmPath) })
  explainPanics()
}
