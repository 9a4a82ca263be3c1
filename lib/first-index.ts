/** Returns the first index below `length` that is far enough, else `length`. All indexes after one that is far enough are so, too. */
export function firstIndex(length: number, isFarEnough: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isFarEnough(middle)) high = middle
    else low = middle + 1
  }
  return low
}
