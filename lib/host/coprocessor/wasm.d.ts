declare module '*.wasm' {
  /** Where the file is: on disk, or inside the executable. */
  const path: string
  export default path
}
