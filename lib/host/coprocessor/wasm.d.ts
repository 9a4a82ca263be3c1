declare module '*.wasm' {
  /** The path of the file: on disk, or inside the executable. */
  const path: string
  export default path
}
