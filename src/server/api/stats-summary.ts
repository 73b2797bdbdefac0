import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { ContainerStats, Summary } from '../../engine/stats/summary.ts';
import { send, sendPlain } from './answers.ts';
import type { ApiEngine } from './api-engine.ts';
import { bodyOf } from './request-body.ts';
import type { Call } from './route-table.ts';

/** Clients share figures of this age, as with /metrics. The kubelet's are up to 10 s old. */
const maxAgeMs = 1000;
/** Time between two samples when there is no CPU usage yet. */
const windowMs = 500;

/** kubelet: server/stats/handler.go handleSummary */
export async function answerSummary(
  { engine, clock }: { engine: Pick<ApiEngine, 'summary'>; clock: Pick<Clock, 'sleep'> },
  { request, response, query }: Call,
): Promise<void> {
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
  const form = isForm ? new URLSearchParams((await bodyOf(request)).toString()) : new URLSearchParams();
  const only = [...form.getAll('only_cpu_and_memory'), ...query.getAll('only_cpu_and_memory')];
  const cpuAndMemoryOnly = only.length === 1 && only[0] === 'true';
  try {
    let summary = await engine.summary({ maxAgeMs, cpuAndMemoryOnly });
    if (summary.node.cpu !== undefined && summary.node.cpu.usageNanoCores === undefined) {
      // There was no sample for two minutes. A client that asks seldom gets the usage of this moment.
      await clock.sleep(windowMs);
      summary = await engine.summary({ maxAgeMs: windowMs, cpuAndMemoryOnly });
    }
    send(response, 200, { 'content-type': 'application/json' }, summaryText(summary, cpuAndMemoryOnly));
  } catch (error) {
    sendPlain(response, 500, `Internal Error: ${errorMessage(error)}`);
  }
}

/**
 * The summary as the kubelet writes it: times in whole seconds, and no pods without a running container. A sample that
 * is shared may hold more figures than CPU and memory. kubelet: stats/cri_stats_provider.go
 * listPodStatsPartiallyFromCRI, server/stats/summary.go GetCPUAndMemoryStats
 */
export function summaryText({ node, pods }: Summary, cpuAndMemoryOnly: boolean): string {
  const running = pods.filter(({ containers }) => containers.length > 0);
  const served = cpuAndMemoryOnly
    ? {
        node: { nodeName: node.nodeName, systemContainers: node.systemContainers?.map(smaller), ...usageOf(node) },
        pods: running.map(({ podRef, containers, ...pod }) => {
          return { podRef, ...usageOf(pod), containers: containers.map(smaller) };
        }),
      }
    : { node, pods: running };
  // Cut in the text, because a copy of the objects takes as long as the sample. No quote inside of a string is bare.
  return JSON.stringify(served, undefined, 1).replaceAll(fractions, '$1Z"');
}

const fractions = /("(?:time|startTime)": "[^".]{19})\.\d{3}Z"/g;

type Measured = Pick<ContainerStats, 'startTime' | 'cpu' | 'memory'>;

const usageOf = ({ startTime, cpu, memory }: Measured): object => ({ startTime, cpu, memory });
const smaller = ({ name, ...container }: ContainerStats): object => ({ name, ...usageOf(container) });
