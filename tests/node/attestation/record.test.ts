import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keepRenewed, readRecord } from '../../../node/attestation/record.ts'
import { icl, nodeAddress, recordingLog } from '../fakes.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-record-'))
})
afterEach(() => rm(folder, { recursive: true }))

const record = {
  version: 1 as const,
  address: nodeAddress,
  icl,
  chain_id: 31_337,
  backend: 'mock' as const,
  certificate: 'x.y.z',
  expires_at: 1_800_000_000,
}

describe('a renewed attestation', () => {
  it('is kept', async () => {
    const log = recordingLog()
    const path = join(folder, 'attestation.json')
    await keepRenewed(path, record, log)
    expect(await readRecord(path, { address: nodeAddress, icl })).toEqual(record)
    expect(log.lines).toEqual([])
  })

  it('that cannot be kept is told, and the daemon goes on', async () => {
    const log = recordingLog()
    await writeFile(join(folder, 'file'), '')
    await keepRenewed(join(folder, 'file', 'attestation.json'), record, log)
    expect(log.lines).toHaveLength(1)
    expect(log.lines[0]).toMatch(
      /^WARNING The new attestation could not be recorded\. .*cannot be written/,
    )
  })
})
