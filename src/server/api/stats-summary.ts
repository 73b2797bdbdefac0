import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { ContainerStats, PodStats, PSIData, PSIStats, Summary } from '../../engine/stats/summary.ts';
import { chunkLength, TextParts } from '../../text/text-parts.ts';
import { sendPlain } from './answers.ts';
import type { ApiEngine } from './api-engine.ts';
import { requestForm } from './request-form.ts';
import type { Call } from './route-table.ts';
import { sendParts } from './send-parts.ts';

/** Clients share statistics of this age, as with /metrics. The kubelet's are up to 10 s old. */
const maxAgeMs = 1000;
/** Time between two samples while there is no CPU usage yet. */
const windowMs = 500;

/** kubelet: server/stats/handler.go handleSummary */
export async function answerSummary(
  { engine, clock }: { engine: Pick<ApiEngine, 'summary'>; clock: Pick<Clock, 'sleep' | 'after'> },
  { request, response }: Call,
): Promise<void> {
  const { values, isBroken } = await requestForm(request);
  if (isBroken) {
    sendPlain(response, 500, 'Internal Error: parse form failed');
    return;
  }
  const only = values.getAll('only_cpu_and_memory');
  const cpuAndMemoryOnly = only.length === 1 && only[0] === 'true';
  let summary: Summary;
  try {
    summary = await engine.summary({ maxAgeMs, cpuAndMemoryOnly });
    if (summary.node.cpu !== undefined && summary.node.cpu.usageNanoCores === undefined) {
      // There was no sample for two minutes. A client that asks rarely gets the current usage.
      await clock.sleep(windowMs);
      summary = await engine.summary({ maxAgeMs: windowMs, cpuAndMemoryOnly });
    }
  } catch (error) {
    sendPlain(response, 500, `Internal Error: ${errorMessage(error)}`);
    return;
  }
  const parts = summaryParts(summary, cpuAndMemoryOnly);
  await sendParts(response, { headers: { 'content-type': 'application/json' }, parts, isZipped: false, clock });
}

/**
 * The summary as the kubelet writes it: times in whole seconds, and no pods without a running container. A shared
 * sample may contain more than CPU and memory. Yields one part per pod, because one text of all pods would be garbage
 * that V8 collects with everything else. kubelet: stats/cri_stats_provider.go listPodStatsPartiallyFromCRI,
 * server/stats/summary.go GetCPUAndMemoryStats
 */
export function* summaryParts({ node, pods }: Summary, cpuAndMemoryOnly: boolean): Generator<Buffer, void> {
  const page = new TextParts();
  const { nodeName, systemContainers } = node;
  const servedNode = cpuAndMemoryOnly
    ? { nodeName, systemContainers: systemContainers?.map(smaller), ...usageOf(node) }
    : {
        ...node,
        ...(systemContainers && { systemContainers: systemContainers.map(withPressure) }),
        ...pressureOf(node),
      };
  page.add(servedText({ node: servedNode, pods: [] }).slice(0, -endOfPods.length));
  let [shown, length] = [0, 0];
  for (const pod of pods) {
    if (pod.containers.length === 0) continue;
    if (shown > 0) page.add(',');
    const text = podText(cpuAndMemoryOnly ? smallerPod(pod) : wholePod(pod));
    page.add(text);
    shown += 1;
    length += text.length;
    if (length < chunkLength) continue;
    length = 0;
    yield* page.drain();
  }
  page.add(shown === 0 ? endOfPods : `\n ${endOfPods}`);
  page.end();
  yield* page.drain();
}

const startOfPods = '{\n "pods": [';
const endOfPods = ']\n}';

/** As it is in the list of a summary. */
const podText = (pod: object): string =>
  servedText({ pods: [pod] }).slice(startOfPods.length, -`\n ${endOfPods}`.length);

/** Cut in the text, because a copy of the objects takes as long as the sample. No quote inside of a string is bare. */
const servedText = (value: object): string => JSON.stringify(value, undefined, 1).replaceAll(fractions, '$1Z"');

const fractions = /("(?:time|startTime)": "[^".]{19})\.\d{3}Z"/g;

type Measured = Pick<ContainerStats, 'startTime' | 'cpu' | 'memory' | 'swap' | 'io'>;

const usageOf = ({ startTime, swap, ...usage }: Measured): object => ({
  startTime,
  ...pressureOf({ startTime, ...usage }),
  swap,
});
const smallerPod = ({ podRef, containers, ...pod }: PodStats): object => ({
  podRef,
  ...usageOf(pod),
  containers: containers.map(smallerContainer),
});
const smaller = ({ name, ...container }: ContainerStats): object => ({ name, ...usageOf(container) });

const wholePod = (pod: PodStats): object => ({
  ...withPressure(pod),
  containers: pod.containers.map((container) => withIO(container)),
});
const withPressure = <T extends Measured>(measured: T): T => ({ ...measured, ...pressureOf(measured) });

const noData: PSIData = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
const noPressure: PSIStats = { full: noData, some: noData };

/** The usage with pressure: zeros if the kernel reports none, as on cgroup v1. kubelet: cadvisorPSIToStatsPSI */
function pressureOf({ cpu, memory, io }: Measured): Pick<Measured, 'cpu' | 'memory' | 'io'> {
  const time = cpu?.time ?? memory?.time;
  return {
    ...(cpu && { cpu: { ...cpu, psi: cpu.psi ?? noPressure } }),
    ...(memory && { memory: { ...memory, psi: memory.psi ?? noPressure } }),
    ...(time !== undefined && { io: io ?? { time, psi: noPressure } }),
  };
}

/** A container has no zeros, but a time. */
function withIO(container: ContainerStats): object {
  const { cpu, memory, io } = container;
  const time = cpu?.time ?? memory?.time;
  return { ...container, ...(time !== undefined && { io: io ?? { time } }) };
}

const smallerContainer = (container: ContainerStats): object => {
  const kept = { ...container };
  delete kept.rootfs;
  delete kept.logs;
  return withIO(kept);
};
