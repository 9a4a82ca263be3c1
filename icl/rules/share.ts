/**
 * Returns the replica that does a piece of work, by rendezvous hashing. Replicas that know the same set agree, and work moves only from
 * or to a replica that leaves or joins. Undefined when there is no replica.
 */
export function replicaFor(work: string, replicas: readonly string[]): string | undefined {
  let best: { readonly id: string; readonly weight: number } | undefined
  for (const id of replicas.toSorted((a, b) => (a < b ? -1 : 1))) {
    const weight = mixed(`${id}\n${work}`)
    if (best === undefined || weight > best.weight) best = { id, weight }
  }
  return best?.id
}

/** Returns 32 evenly spread bits: FNV-1a, then the last step of MurmurHash3. It is fast, and the input is not secret. */
function mixed(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
