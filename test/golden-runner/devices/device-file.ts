import { comparingCase, type Outcome, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { type ServerFile, serverFile } from '../server/server-file.ts';
import { replayDevices } from './device-case.ts';
import type { DeviceRecording } from './device-recording.ts';

/** A scenario of device plugins. */
export const deviceFile: ServerFile = serverFile<DeviceRecording>(
  ['sequence', 'snapshots', 'created'],
  (recording) => ({ cases: [deviceCase(recording)] }),
);

/** The kubelet leaves a refused pod alone. We try it again, so from then on the scenarios are others. */
function deviceCase(recording: DeviceRecording): ReplayedCase {
  const retriedAt = retryTime(recording);
  const part = retriedAt === undefined ? recording : before(recording, retriedAt);
  const { name, run } = comparingCase(recording.name, inNoTable(part), () => replayDevices(part));
  const reason = 'a pod that was refused for lack of devices is tried again when they may be there';
  const compare = async (): Promise<Outcome> => {
    const outcome = await run();
    return outcome.verdict === 'passed' && retriedAt !== undefined
      ? { verdict: 'differs on purpose', reason }
      : outcome;
  };
  return { name, run: compare };
}

/** When devices came or pods went after the refusal of a pod. */
function retryTime({ snapshots, sequence }: DeviceRecording): number | undefined {
  const refusal = snapshots.find(({ pods }) =>
    Object.values(pods).some(({ message = '' }) => message.includes('Allocate failed due to ')),
  );
  if (refusal === undefined) return undefined;
  return sequence.find(
    ({ t, did = '', answer }) =>
      t >= refusal.t && (/ removed$|^sent devices/.test(did) || (did === 'Register' && answer?.ok === true)),
  )?.t;
}

function before(recording: DeviceRecording, end: number): DeviceRecording {
  const sequence = recording.sequence.filter(({ t }) => t < end);
  const creations = sequence.filter(({ cri }) => cri === 'CreateContainer').length;
  return {
    ...recording,
    sequence,
    snapshots: recording.snapshots.filter(({ t }) => t <= end),
    created: recording.created.slice(0, creations),
  };
}
