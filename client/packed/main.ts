// What `npx` runs: one of the commands, each of which is a module beside this one.
import { exitCodes } from '../../lib/host/exit-code.ts'

declare const SVC_PACKAGE: string

const commands: Readonly<Record<string, string>> = {
  infer: 'sends one prompt and prints its answer',
  gateway: "serves OpenAI's and Anthropic's interfaces on this machine",
  receipt: 'checks a receipt',
}

const [name = ''] = process.argv.slice(2)
if (Object.hasOwn(commands, name)) await import(new URL(`./${name}.js`, import.meta.url).href)
else {
  const lines = Object.entries(commands).map(([one, does]) => `  ${one.padEnd(10)}${does}\n`)
  const isAsked = name === '--help' || name === '-h'
  const output = isAsked ? process.stdout : process.stderr
  output.write(`Usage: ${SVC_PACKAGE} COMMAND [--help]\n\n${lines.join('')}`)
  process.exitCode = isAsked ? exitCodes.done : exitCodes.usage
}
