/**
 * Which of several replicas a piece of work is for: rendezvous hashing, so that all that know the same replicas agree, and work
 * moves only from or to a replica that goes or comes. Undefined when there is none.
 */
export function replicaFor(work: string, replicas: readonly string[]): string | undefined {
  let best: { readonly id: string; readonly weight: number } | undefined
  for (const id of replicas.toSorted((a, b) => (a < b ? -1 : 1))) {
    const weight = mixed(`${id}\n${work}`)
    if (best === undefined || weight > best.weight) best = { id, weight }
  }
  return best?.id
}

/** 32 bits that spread evenly: FNV-1a, then the last step of MurmurHash3. Nothing is secret here, and it is asked often. */
function mixed(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
