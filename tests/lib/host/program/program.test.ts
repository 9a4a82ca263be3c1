import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { helpOf } from '../../../../lib/host/program/help.ts'
import {
  flag,
  json,
  ListOf,
  OneOf,
  option,
  WholeNumber,
} from '../../../../lib/host/program/option.ts'
import { command, type Program } from '../../../../lib/host/program/program.ts'
import { runProgram } from '../../../../lib/host/program/run-program.ts'

type Seen = (given: object) => void

const look = command({
  name: 'look',
  summary: 'Look at something',
  args: z.object({
    place: option(z.string(), 'PLACE'),
    rest: option(z.array(z.string()).default([]), 'MORE'),
  }),
  options: z.object({
    limit: option(WholeNumber(1, 20).default(5), 'N', 'How many'),
    nodeId: option(z.string().optional(), 'ID', 'Whose'),
    rule: option(OneOf(['two', 'three']).optional(), 'RULE', 'Which'),
    rpc: option(z.array(z.string()).default([]), 'URL', 'Where'),
    kinds: option(ListOf(['red', 'blue']).optional(), 'KINDS', 'Which of them'),
    quiet: flag('Print less', { letter: 'q' }),
    json,
  }),
  run: async (given, seen: Seen) => void seen(given),
})
const keysShow = command({
  name: 'keys show',
  summary: 'Show a key',
  args: z.object({ key: option(z.string().regex(/^[\w-]{12}$/), 'KEY', '', { isDashed: true }) }),
  options: z.object({ reason: option(z.string(), 'TEXT', 'Why') }),
  run: async (given, seen: Seen) => void seen(given),
})
const program: Program<Seen> = { typed: 'svc-try', commands: [look, keysShow] }

async function run(...args: readonly string[]) {
  const [out, err, seen] = [[] as string[], [] as string[], [] as object[]]
  const code = await runProgram(program, args, {
    print: (line) => void out.push(line),
    warn: (line) => void err.push(line),
    context: () => (given) => void seen.push(given),
  })
  return { code, out, err, given: seen[0] }
}

describe('a command line', () => {
  it('gives a command its arguments and options by their keys, with defaults', async () => {
    expect((await run('look', 'here', '--node-id', '7', '-q')).given).toEqual({
      ...{ place: 'here', rest: [], limit: 5, nodeId: '7', rpc: [], quiet: true, json: false },
    })
  })

  it.each([
    ['a number with digits that a double loses', '90071992547409931234', '90071992547409931234'],
    ['a number with leading zeros', '007', '007'],
    ['hexadecimal digits', '0x1F', '0x1F'],
    ['an exponent', '1e3', '1e3'],
    ['nothing', '', ''],
    ['a text with an equals sign', 'a=b', 'a=b'],
    ['a text that begins with a dash', '-x', '-x'],
    ['a word of truth', 'false', 'false'],
  ])('keeps %s as it was typed', async (_, typed, kept) => {
    expect((await run('look', 'here', '--node-id', typed)).given).toMatchObject({ nodeId: kept })
    expect((await run('look', 'here', `--node-id=${typed}`)).given).toMatchObject({ nodeId: kept })
    expect((await run('look', '--', typed)).given).toMatchObject({ place: kept })
  })

  it('lists words between commas', async () => {
    expect((await run('look', 'here', '--kinds', 'blue,red')).given).toMatchObject({
      kinds: ['blue', 'red'],
    })
    expect((await run('look', 'here', '--kinds', 'blue,')).err[0]).toBe(
      'error: --kinds takes red, blue, not ',
    )
  })

  it('takes options before and between its words, words after `--`, and an id that begins with a dash', async () => {
    expect((await run('--limit', '3', 'look', 'here')).given).toMatchObject({ limit: 3 })
    expect((await run('look', 'a', '--', '--json', '-q')).given).toMatchObject({
      ...{ place: 'a', rest: ['--json', '-q'], json: false },
    })
    expect((await run('keys', '--reason', '--x', 'show', '-abcdefghijk')).given).toEqual({
      ...{ key: '-abcdefghijk', reason: '--x' },
    })
  })

  it('lists what may be repeated', async () => {
    const { given } = await run('look', 'here', '--rpc', 'a', '--rpc=b')
    expect(given).toMatchObject({ rpc: ['a', 'b'] })
  })

  it.each([
    [['look'], 'PLACE is missing'],
    [['keys', 'show', 'abcdefghijkl'], '--reason is missing'],
    [['keys', 'show', 'abc', '--reason', 'x'], 'KEY cannot be "abc"'],
    [['keys', 'show', 'a'.repeat(100), '--reason', 'x'], 'KEY is too long'],
    [['keys', 'show', 'abcdefghijkl', 'more', '--reason', 'x'], 'more is one argument too many'],
    [
      ['look', 'x', '--limit', '21', '--rule', 'one'],
      '--limit takes a whole number from 1 to 20; --rule takes two, three, not one',
    ],
    [['look', 'x', '--limit'], '--limit needs a value: --limit N'],
    [['look', 'x', '--limit', '--json'], '--limit needs a value: --limit N'],
    [['look', 'x', '--limit', '1', '--limit', '2'], '--limit is given more than once'],
    [['look', 'x', '--quiet=no'], '--quiet takes no value'],
    [['look', 'x', '--no-quiet'], 'there is no option --no-quiet'],
    [['look', 'x', '--nodeId', '1'], 'there is no option --nodeId'],
    [['look', 'x', '--__proto__', '1'], 'there is no option --__proto__'],
    [['look', 'x', '-qz'], 'there is no option -qz'],
    [['look', 'x', '--reason', '1'], 'there is no option --reason'],
    [['look', '--bogus', 'x'], 'there is no option --bogus'],
    [['look', 'x', '--limit', '3', '--limit.x=4'], 'there is no option --limit.x'],
    [['--bogus', 'look', 'x'], 'there is no option --bogus'],
    [['lok'], 'there is no command lok'],
    [['keys', 'shw'], 'there is no command keys shw'],
    [[], 'no command given'],
  ])('refuses %j', async (args, message) => {
    const { code, err, given } = await run(...args)
    expect([code, err[0], given]).toEqual([2, `error: ${message}`, undefined])
    expect(err[1]).toMatch(/^hint: /)
  })

  it.each([
    [['look', 'x', '--limt', '1'], 'hint: Did you mean --limit? Else see `svc-try look --help`.'],
    [['lok'], 'hint: Did you mean `svc-try look`? Else see `svc-try --help`.'],
    [['keys', 'shw'], 'hint: Did you mean `svc-try keys show`? Else see `svc-try --help`.'],
  ])('names the nearest for %j', async (args, hint) => {
    expect((await run(...args)).err[1]).toBe(hint)
  })

  it('prints the version as JSON where --json is an option, which it is not after `--`', async () => {
    expect((await run('--version', '--json')).out).toEqual([expect.stringMatching(/^{"version":"/)])
    expect((await run('look', '--limit', 'x', '--', '--json')).out).toEqual([])
  })

  it('ends with JSON, too, where --json is given and the command fails', async () => {
    const { out } = await run('look', '--json')
    expect(JSON.parse(out[0] ?? '')).toEqual({
      error: { code: 'usage', message: 'PLACE is missing', hint: 'See `svc-try look --help`.' },
    })
  })
})

describe('the help', () => {
  it('shows words, bounds and defaults from the schema', () => {
    const help = helpOf(program, look)
    expect(help).toContain('Usage: svc-try look PLACE [MORE...] [OPTIONS]')
    expect(help).toContain('  --limit N      How many (1 to 20; default: 5)')
    expect(help).toContain('  --rule RULE    Which (two, three)')
    expect(help).toContain('  --rpc URL...   Where (may be repeated)')
    expect(help).toContain('  --kinds KINDS  Which of them (red, blue)')
    expect(help).toContain('  -q, --quiet    Print less')
  })

  it('lists the commands with their arguments and needed options', async () => {
    const { code, out } = await run('--help')
    expect(code).toBe(0)
    expect(out.join('\n')).toContain('  keys show KEY --reason TEXT\n')
    for (const words of [['keys', 'show'], ['keys']]) {
      expect((await run(...words, '--help')).out.join('\n')).toContain('--reason TEXT  Why')
    }
  })

  it('leaves standard output to JSON where --json is given', async () => {
    const { out, err } = await run('look', '--json', '--help')
    expect([out, err[2]]).toEqual([[], 'Usage: svc-try look PLACE [MORE...] [OPTIONS]'])
  })
})
