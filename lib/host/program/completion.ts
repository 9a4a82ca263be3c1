// Problem: three shells have to complete the commands, options and values of a program from its table.
// Idea: the words before the cursor, each with a space after it and without the executable, are one text. Each script matches it to
// patterns: an unfinished name exactly (`nodes `), a command by how it begins (`nodes list `*).
// Invariant: what was typed is only compared with patterns, never evaluated.
import { z } from 'zod'
import { type Field, fieldsOf, OneOf, option, takesFile, wordsOf } from './option.ts'
import { command, type Program } from './program.ts'
import type { Lines } from './run-program.ts'

/** Declares the command that prints the completion script of a program, which contains every command and option. */
export const completionCommand = (program: () => Program<never>) =>
  command({
    name: 'completion',
    summary: 'Print the completion script of a shell',
    args: z.object({ shell: option(OneOf(['bash', 'zsh', 'fish']), 'SHELL', 'The shell') }),
    run: async ({ shell }, { print }: Pick<Lines, 'print'>) => {
      for (const line of completionScript(program(), shell)) print(line)
    },
  })

function completionScript(
  { typed, shellWords = [typed], commands }: Program<never>,
  shell: 'bash' | 'zsh' | 'fish',
): readonly string[] {
  const [executable, ...prefix] = shellWords
  const leaves = commands.map(({ name, summary, args, options }) => ({
    path: [...prefix, ...name.split(' ')],
    summary,
    args: fieldsOf(args),
    options: fieldsOf(options).filter(({ isHidden }) => isHidden !== true),
  }))
  const stems = new Map<string, Map<string, string>>()
  for (const { path, summary } of leaves) {
    for (const [at, word] of path.entries()) {
      const before = textOf(path.slice(0, at))
      const next = stems.get(before) ?? new Map<string, string>()
      stems.set(before, next.set(word, at + 1 === path.length ? summary : ''))
    }
  }
  const own = `_${executable.replaceAll('-', '_')}`
  const ask = `${shellWords.join(' ')} completion ${shell}`
  const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }
  return scripts[shell]({ executable, own, ask, leaves, stems })
}

type Tree = {
  readonly executable: string
  /** The name of the shell function. */
  readonly own: string
  /** Prints the script. */
  readonly ask: string
  readonly leaves: readonly {
    readonly path: readonly string[]
    readonly summary: string
    readonly args: readonly Field[]
    readonly options: readonly Field[]
  }[]
  /** The words that may follow an unfinished name, with the summary of the command that they finish. */
  readonly stems: ReadonlyMap<string, ReadonlyMap<string, string>>
}

const textOf = (words: readonly string[]): string => words.map((word) => `${word} `).join('')
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const common = { '--help': 'Show the help', '--version': 'Print the version' }

/** Uses nothing but bash itself. */
function bashScript({ executable, own, ask, leaves, stems }: Tree): readonly string[] {
  const offer = (fields: readonly Field[]) => {
    const words = fields.flatMap((field) => wordsOf(field) ?? [])
    return `words=${quoted(words.join(' '))}${fields.some(takesFile) ? ' files=yes' : ''}`
  }
  const arms = leaves.flatMap(({ path, args, options }) => [
    ...options
      .filter(({ isSwitch }) => !isSwitch)
      .map((one) => `${quoted(textOf(path))}*${quoted(`${one.name} `)}) ${offer([one])}`),
    `${quoted(textOf(path))}*) ${offer(args)} flags=${quoted([...options.map(({ name }) => name), '--help'].join(' '))}`,
  ])
  const heads = [...stems].map(
    ([before, next]) =>
      `${quoted(before)}) words=${quoted([...next.keys()].join(' '))} flags=${quoted(Object.keys(common).join(' '))}`,
  )
  return [
    `# Completion of ${executable} for bash: source <(${ask})`,
    `${own}() {`,
    "  local IFS=$' \\n' words='' flags='' files=''",
    `  local current="\${COMP_WORDS[COMP_CWORD]}" typed="\${COMP_WORDS[*]:0:COMP_CWORD} "`,
    `  case "\${typed#* }" in`,
    ...[...heads, ...arms].map((arm) => `    ${arm} ;;`),
    '  esac',
    '  if [[ "$current" == -* ]]; then words="$flags" files=; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '  if [ -n "$files" ]; then',
    "    IFS=$'\\n'",
    '    compopt -o filenames 2>/dev/null',
    '    COMPREPLY=($(compgen -f -- "$current"))',
    '  fi',
    '}',
    `complete -F ${own} ${executable}`,
  ]
}

function zshScript({ executable, own, ask, leaves, stems }: Tree): readonly string[] {
  const escaped = (text: string) => text.replaceAll(/[[\]:\\]/g, '\\$&')
  const valueSpec = (field: Field) => {
    const words = wordsOf(field)
    const action = takesFile(field) ? '_files' : words ? `(${words.join(' ')})` : ''
    return `:${escaped(field.value)}:${action}`
  }
  const flags = Object.entries(common).map(([name, help]) => quoted(`${name}[${help}]`))
  const heads = [...stems].map(([before, next]) => {
    const described = [...next].map(([word, summary]) =>
      quoted([word, escaped(summary)].filter(Boolean).join(':')),
    )
    return `${quoted(before)}) next=(${described.join(' ')}); _describe command next; _arguments ${flags.join(' ')}`
  })
  const arms = leaves.map(({ path, args, options }) => {
    const specs = [
      ...options.map(
        (one) =>
          `${one.isList ? '*' : ''}${one.name}[${escaped(one.help)}]${one.isSwitch ? '' : valueSpec(one)}`,
      ),
      ...args.map((one, at) => `${one.isList ? '*' : at + 1}${valueSpec(one)}`),
    ]
    return `${quoted(textOf(path))}*) shift ${path.length} words; (( CURRENT -= ${path.length} )); _arguments ${[...specs.map(quoted), flags[0]].join(' ')}`
  })
  return [
    `#compdef ${executable}`,
    `# Completion of ${executable} for zsh: ${ask} > "\${fpath[1]}/_${executable}"`,
    `${own}() {`,
    `  local typed="\${(j: :)words[1,CURRENT-1]} "`,
    '  local -a next',
    `  case "\${typed#* }" in`,
    ...[...heads, ...arms].map((arm) => `    ${arm} ;;`),
    '  esac',
    '}',
    // The file may be sourced, or found in fpath. In fpath its first call must already complete.
    `if [ "$funcstack[1]" = "_${executable}" ]; then ${own} "$@"; else compdef ${own} ${executable}; fi`,
  ]
}

function fishScript({ executable, own, ask, leaves, stems }: Tree): readonly string[] {
  const at = (pattern: string, rest: string) =>
    `complete -c ${executable} -n ${quoted(`_${own} "${pattern}"`)} ${rest}`
  const offer = (field: Field) => {
    const words = wordsOf(field)
    return takesFile(field) ? ' -F' : words ? ` -a ${quoted(words.join(' '))}` : ''
  }
  return [
    `# Completion of ${executable} for fish: ${ask} > ~/.config/fish/completions/${executable}.fish`,
    `function _${own}`,
    "  string match -q -- $argv[1] (string replace -r '^\\S+ ' '' -- (string join ' ' -- (commandline -opc))' ')",
    'end',
    `complete -c ${executable} -f`,
    ...[...stems].flatMap(([before, next]) => [
      ...[...next].map(([word, summary]) => at(before, `-a ${word} -d ${quoted(summary)}`)),
      ...Object.entries(common).map(([name, help]) =>
        at(before, `-l ${name.slice(2)} -d '${help}'`),
      ),
    ]),
    ...leaves.flatMap(({ path, args, options }) => {
      const within = `${textOf(path)}*`
      return [
        ...options.map((one) => {
          const value = one.isSwitch ? '' : `${takesFile(one) ? ' -r' : ' -x'}${offer(one)}`
          return at(within, `-l ${one.name.slice(2)}${value} -d ${quoted(one.help)}`)
        }),
        at(within, `-l help -d ${quoted(common['--help'])}`),
        ...args.filter((one) => offer(one) !== '').map((one) => at(within, offer(one).trim())),
      ]
    }),
  ]
}
