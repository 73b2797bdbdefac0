import type { PodName } from '../../api/values/pod-names.ts';
import type { WorkloadName } from '../../api/values/workload.ts';
import type { EventEntry } from '../../engine/history/history-entry.ts';
import { workloadHistory } from '../../engine/history/history-file.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { pastOf, recordedPods } from '../pod/recorded-pods.ts';

/** An event of a workload or of one of its pods. */
export interface ObjectEvent extends EventEntry {
  /** Such as `job/pi` or `pod/pi-edge1`. */
  object: string;
}

/** More are rarely read, and a workload may have hundreds of pods. */
const maxEvents = 50;

/** The newest events of a workload and of its pods, also of removed ones, oldest first. */
export async function workloadEvents(
  workload: WorkloadName,
  isOwn: (pod: PodName) => boolean,
  { rootDir, snapshot }: { rootDir: string; snapshot: EngineSnapshot | undefined },
): Promise<ObjectEvent[]> {
  const pods = (await recordedPods(rootDir, snapshot)).filter(isOwn);
  const objects = [
    { name: workloadHistory(workload), object: `${workload.kind.toLowerCase()}/${workload.name}` },
    ...pods.map((name) => ({ name, object: `pod/${name.name}` })),
  ];
  const events: ObjectEvent[] = [];
  for (const { name, object } of objects) {
    for (const entry of await pastOf(name, rootDir, snapshot !== undefined))
      if (entry.kind === 'event') events.push({ ...entry, object });
  }
  return events.sort((a, b) => a.lastAt - b.lastAt).slice(-maxEvents);
}
