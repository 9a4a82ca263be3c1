import { useState } from 'preact/hooks'

/** A field that filters a list, and its text in lower case. */
export function useFind(placeholder: string) {
  const [text, setText] = useState('')
  const field = (
    <label>
      Find{' '}
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </label>
  )
  return { field, sought: text.trim().toLowerCase() }
}
