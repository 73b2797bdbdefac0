/** The error of a command that needs an agent, on a root-dir without one. */
export const noAgentOn = (rootDir: string): object => ({
  name: 'UserError',
  message: `no kubelet-ts runs on ${rootDir}`,
  hint: 'Start it: kubelet-ts run MANIFEST. If it runs on another root-dir, give --root-dir or set KUBELET_TS_ROOT_DIR.',
});
