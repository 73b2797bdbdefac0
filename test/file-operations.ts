/** True while Node waits for an operation on files of this process. */
export const isFileAtWork = (): boolean =>
  process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq') || resource === 'CloseReq');
