import { describe, expect, it } from 'vitest'
import { cidOf } from '../../../lib/cid.ts'
import { type BlobSource, fetchBlob, gatewayBlobSource } from '../../../lib/client/fetch-blob.ts'
import { fastClock } from './fake-world.ts'

const blob = new TextEncoder().encode('sealed bytes') as Uint8Array<ArrayBuffer>
const clock = fastClock(1_000)

const source = (name: string, get: BlobSource['get']): BlobSource => ({ name, get })

describe('fetchBlob', () => {
  it('takes the first source that has the right bytes', async () => {
    const sources = [
      source('down', async () => {
        throw new Error('connection refused')
      }),
      source('lying', async () => new Uint8Array(3)),
      source('honest', async () => blob),
    ]
    expect(await fetchBlob(sources, await cidOf(blob), clock)).toEqual(blob)
  })

  it('names every source and what was wrong with it', async () => {
    const sources = [source('lying', async () => new Uint8Array(3))]
    await expect(fetchBlob(sources, await cidOf(blob), clock)).rejects.toMatchObject({
      code: 'output-unavailable',
      message: expect.stringContaining('lying: other bytes'),
    })
  })

  it('asks a gateway under its own path', async () => {
    let asked = ''
    const gateway = gatewayBlobSource(
      'http://gateway.test/base',
      async (request) => {
        asked = request.url
        return new Response(blob)
      },
      clock,
    )
    const cid = await cidOf(blob)
    expect(await fetchBlob([gateway], cid, clock)).toEqual(blob)
    expect(asked).toBe(`http://gateway.test/base/ipfs/${cid}`)
  })

  it('stops reading a gateway that sends more than a blob holds', async () => {
    const gateway = gatewayBlobSource(
      'http://gateway.test',
      async () => new Response(new Uint8Array(1024 * 1024 + 1)),
      clock,
    )
    await expect(gateway.get('bafkrei')).rejects.toThrow('more than a blob holds')
  })
})
