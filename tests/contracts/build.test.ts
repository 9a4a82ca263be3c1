import { stat } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { renderAbiFiles } from '../../contracts/abi-source.ts'
import { artifactsFile, buildContracts, findStaleAbis } from '../../contracts/build.ts'

describe('the contract build', () => {
  it('has its ABIs committed as the contracts define them', async () => {
    expect([...(await findStaleAbis(await buildContracts())).keys()]).toEqual([])
  })

  it('compiles once and then takes the artifacts from disk', async () => {
    const first = await buildContracts()
    const { mtimeMs } = await stat(artifactsFile)
    expect(await buildContracts()).toEqual(first)
    // A compilation writes the file anew.
    expect((await stat(artifactsFile)).mtimeMs).toBe(mtimeMs)
  })

  it('keeps contracts within the size that a chain accepts', async () => {
    for (const [name, { deployedBytecode }] of Object.entries(await buildContracts())) {
      expect([name, deployedBytecode.length / 2 <= 24_576]).toEqual([name, true])
    }
  })

  it('writes one file per ABI', async () => {
    const names = [...renderAbiFiles(await buildContracts()).keys()]
    expect(names).toEqual([
      'node-registry.ts',
      'prompt-key-store.ts',
      'result-registry.ts',
      'task-manager.ts',
    ])
  })
})
