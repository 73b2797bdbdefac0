import type { Writable } from 'node:stream';
import type { PatientSocket } from '../../server/control/control-client.ts';

/** The socket for a command that needs the agent. Writes once to stderr that the command waits for a busy agent. */
export function patientSocket(socketPath: string, stderr: Writable): PatientSocket {
  let isTold = false;
  return {
    socketPath,
    onBusy: ({ pid }) => {
      if (!isTold) stderr.write(`warning: kubelet-ts (pid ${pid}) is busy; this waits for its answer\n`);
      isTold = true;
    },
  };
}
