import { z } from 'zod'
import { exitCodeHelp } from '../exit-code.ts'
import { fitHelp } from '../fit-help.ts'
import { commit, version } from '../version.ts'
import { describeField, type Field, fieldsOf, flag } from './option.ts'
import type { Command, Program } from './program.ts'

const common = fieldsOf(
  z.object({
    help: flag('Show this help', { letter: 'h' }),
    version: flag('Print the version', { letter: 'v' }),
  }),
)

const shownFields = (one: Command<never>): readonly Field[] =>
  fieldsOf(one.options).filter(({ isHidden }) => isHidden !== true)

const usageOf = ({ name, value, isList }: Field): string =>
  [name, value].filter(Boolean).join(' ') + (isList ? '...' : '')

function signatureOf(one: Command<never>): string {
  const args = fieldsOf(one.args).map(({ value, isNeeded, isList }) => {
    const shown = isList ? `${value}...` : value
    return isNeeded ? shown : `[${shown}]`
  })
  const needed = shownFields(one).filter(({ isNeeded }) => isNeeded)
  return [one.name, ...args, ...needed.map(usageOf)].filter(Boolean).join(' ')
}

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.min(24, Math.max(...rows.map(([left]) => left.length)))
  return rows
    .map(([left, right]) =>
      left.length > width
        ? `  ${left}\n  ${' '.repeat(width)}  ${right}`
        : `  ${left.padEnd(width)}  ${right}`,
    )
    .join('\n')
}

const optionRows = (fields: readonly Field[]) =>
  [...fields, ...common].map((field) => {
    const letter = field.letter === undefined ? '' : `-${field.letter}, `
    return [letter + usageOf(field), describeField(field)] as const
  })

const section = (title: string, body: string | undefined): readonly string[] =>
  body ? [`${title}:\n${body}`] : []

/** Returns the help of a program, or of one of its commands, in lines of at most 100 columns. */
export function helpOf(program: Program<never>, only?: Command<never>): string {
  const { typed, about, notes, commands } = program
  const hasOptions = only && shownFields(only).some(({ isNeeded }) => !isNeeded)
  const usage = only
    ? [typed, hasOptions ? `${signatureOf(only)} [OPTIONS]`.trim() : signatureOf(only)]
    : [typed, 'COMMAND [OPTIONS]']
  const args = only ? fieldsOf(only.args).filter(({ help }) => help !== '') : []
  const isWhole = only === undefined || only.name === ''
  const parts = [
    `${typed.split(' ').at(0) === 'npm' ? 'svc' : typed} ${version}${commit === undefined ? '' : ` (${commit})`}`,
    `Usage: ${usage.join(' ')}`,
    ...(only ? [only.summary] : []),
    ...(isWhole && about ? [about] : []),
    ...section('Arguments', columns(args.map((one) => [one.value, describeField(one)]))),
    ...(only
      ? []
      : [
          ...section('Commands', columns(commands.map((one) => [signatureOf(one), one.summary]))),
          `\`${typed} COMMAND --help\` shows the options of a command.`,
        ]),
    ...section('Options', columns(optionRows(only ? shownFields(only) : []))),
    ...(only?.notes ? [only.notes] : []),
    ...(isWhole && notes ? [notes] : []),
    ...section('Exit codes', exitCodeHelp),
  ]
  return fitHelp(parts.join('\n\n'))
}
