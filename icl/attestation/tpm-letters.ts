/** A manufacturer as its four letters: `id:494E5443` is INTC. An id that is not letters stays an id. */
export function lettersOf(id: string): string {
  const hex = /^id:([0-9a-f]{8})$/i.exec(id)?.[1]
  if (hex === undefined) return id.slice(0, 16)
  const codes = (hex.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16))
  const letters = String.fromCharCode(...codes).replace(/[\0 ]+$/, '')
  return /^[A-Za-z0-9]+$/.test(letters) ? letters : id.toLowerCase()
}
