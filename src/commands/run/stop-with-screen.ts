/**
 * A screen sets this environment variable for a command whose output it shows. The command stops when the other end of
 * `screenFD` closes, because a killed screen cannot stop it.
 */
export const stopWithScreenVariable = 'KUBELET_TS_END_WITH_SCREEN';
const screenFD = 3;

/** Removes the variable, so that no child inherits it. Does not keep the process alive. */
export function stopWithScreen(environment: NodeJS.ProcessEnv): void {
  const isOfScreen = environment[stopWithScreenVariable] !== undefined;
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the name is a constant
  delete environment[stopWithScreenVariable];
  if (!isOfScreen) return;
  // Loaded only here. The scripts of the executable have no import() of Node's modules.
  const { Socket } = process.getBuiltinModule('node:net');
  const screen = new Socket({ fd: screenFD, readable: true, writable: false });
  screen.on('error', () => undefined).once('close', () => process.kill(process.pid, 'SIGTERM'));
  screen.resume().unref();
}
