// Defined when the commands are packed; absent when run from the sources.
declare const SVC_PACKAGE: string | undefined

/** Returns how a user types a client's command: in a clone of the sources, or with the npm package. */
export const invocationOf = (command: string): string =>
  typeof SVC_PACKAGE === 'string' ? `npx ${SVC_PACKAGE} ${command}` : `npm run ${command} --`
