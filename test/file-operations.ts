/** True while a file operation of this process is pending. */
export const isFileAtWork = (): boolean =>
  process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq') || resource === 'CloseReq');
