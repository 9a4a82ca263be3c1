// Put in when the commands are packed; absent when run from the sources.
declare const SVC_PACKAGE: string | undefined

/** How a user types a command of the client: in a clone of the sources, or with the package of that name. */
export const invocationOf = (command: string): string =>
  typeof SVC_PACKAGE === 'string' ? `npx ${SVC_PACKAGE} ${command}` : `npm run ${command} --`
