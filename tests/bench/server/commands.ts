import { createInterface } from 'node:readline'

/** What a process does on command: each takes and gives plain data. */
export type Commands = Readonly<Record<string, (input: never) => unknown>>

/** Answers commands that come as lines of JSON on standard input, one after the other, until it ends. */
export async function serveCommands(commands: Commands): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, name, input } = JSON.parse(line)
    const answer = await answerOf(commands, name, input)
    process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`)
  }
}

async function answerOf(commands: Commands, name: string, input: unknown) {
  try {
    const command = commands[name]
    if (!command) throw new TypeError(`There is no command ${name}`)
    return { answer: (await command(input as never)) ?? null }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
