/** Formats rows of text in aligned columns. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** Formats a time in milliseconds as UTC; `-` when there is none. */
export const time = (at: number | undefined): string =>
  at === undefined || !Number.isFinite(at) ? '-' : `${new Date(at).toISOString().slice(0, 19)}Z`
