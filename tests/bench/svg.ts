/** Text made safe to stand in SVG. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** A number with no more digits than a plot shows. */
const short = (value: number): string => String(Math.round(value * 10) / 10)

/** A line of text; anchored at its start by default. */
export function label(
  x: number,
  y: number,
  text: string,
  { anchor = 'start', bold = false }: { anchor?: 'start' | 'middle' | 'end'; bold?: boolean } = {},
): string {
  const weight = bold ? ' font-weight="bold"' : ''
  return `<text x="${short(x)}" y="${short(y)}" text-anchor="${anchor}"${weight}>${escaped(text)}</text>`
}

/** A filled rectangle. */
export const bar = (x: number, y: number, width: number, height: number, fill: string): string =>
  `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${fill}"/>`

/** A straight line. */
export const rule = (x1: number, y1: number, x2: number, y2: number, stroke: string): string =>
  `<line x1="${short(x1)}" y1="${short(y1)}" x2="${short(x2)}" y2="${short(y2)}" stroke="${stroke}"/>`

/** A line through points. */
export const curve = (points: readonly (readonly [number, number])[], stroke: string): string =>
  `<polyline fill="none" stroke="${stroke}" stroke-width="2" points="${points.map(([x, y]) => `${short(x)},${short(y)}`).join(' ')}"/>`

/** A whole image on white, so that it can be read on a dark page too. */
export const image = (
  width: number,
  height: number,
  title: string,
  parts: readonly string[],
): string =>
  `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="#1a202c" role="img">`,
    `<title>${escaped(title)}</title>`,
    bar(0, 0, width, height, '#ffffff'),
    ...parts,
    '</svg>',
  ].join('\n')}\n`
