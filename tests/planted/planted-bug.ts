/** A mistake that can be planted into a copy of the project. */
export type PlantedBug = {
  /** Kebab-case, as `--only` takes it. */
  readonly name: string
  /** What the service does wrong with it. */
  readonly what: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly find: string
  readonly replace: string
  /** The test files of which one has to fail. */
  readonly tests: readonly string[]
}

/** The text of a file with the bug in it; throws when the place for it is not there, or not only once. */
export function plant({ name, file, find, replace }: PlantedBug, text: string): string {
  const places = text.split(find).length - 1
  if (places !== 1) throw new Error(`${name}: ${file} has ${places} places for it, not one`)
  return text.replace(find, () => replace)
}
