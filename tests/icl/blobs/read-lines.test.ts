import { describe, expect, it } from 'vitest'
import { readLines } from '../../../icl/blobs/kubo-pins.ts'

const text = 'one\ntwo\nthree\nfour\n'

async function read(chunkBytes: number, skip: number, limit: number, maxBytes = 100) {
  const bytes = new TextEncoder().encode(text)
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      for (let at = 0; at < bytes.length; at += chunkBytes) {
        controller.enqueue(bytes.slice(at, at + chunkBytes))
      }
      controller.close()
    },
  })
  const lines = await readLines({ body }, { skip, limit, maxBytes })
  return lines && new TextDecoder().decode(lines)
}

describe('lines of an answer', () => {
  for (const chunkBytes of [1, 2, 3, 4, 5, 7, 100]) {
    it(`are the wanted ones in chunks of ${chunkBytes}`, async () => {
      expect(await read(chunkBytes, 0, 10)).toBe(text)
      expect(await read(chunkBytes, 0, 2)).toBe('one\ntwo\n')
      expect(await read(chunkBytes, 1, 2)).toBe('two\nthree\n')
      expect(await read(chunkBytes, 3, 2)).toBe('four\n')
      expect(await read(chunkBytes, 4, 2)).toBe('')
    })
  }

  it('are not read when they are too long, however long those are that are passed over', async () => {
    expect(await read(1, 0, 3, 8)).toBeUndefined()
    expect(await read(100, 2, 1, 6)).toBe('three\n')
  })
})
