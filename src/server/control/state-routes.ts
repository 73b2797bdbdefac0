import { systemClock } from '../../clock.ts';
import type { PodTable } from '../../engine/listing/pod-table.ts';
import type { Texts } from '../../engine/listing/pod-table-text.ts';
import { sharedWork } from '../../flow/shared-work.ts';
import { loadedOnce } from '../../loaded-once.ts';
import { isPlain, visible } from '../../visible-text.ts';
import { metricsContentType, metricsPaths } from '../metrics/agent-metrics.ts';
import { bytesOfLongJSON, ControlRefusal, sendBytes, sendJSON } from './control-answer.ts';
import type { ControlCall, ControlContext, ControlRoutes } from './control-route.ts';

/** The table of `ps` in texts that are safe for a terminal, and the lines that it prints on stderr. */
export interface AgentTable extends PodTable {
  rows: AgentRow[];
  warnings: string[];
}

type AgentRow = PodTable['rows'][number] & {
  /** The columns of a terminal that each cell takes, for a row with other letters than ASCII. */
  widths?: number[];
};

/** All clients together take a sixth of a core for snapshots, and more on a node with hundreds of pods. */
const snapshotPauses = { pausePerRun: 5, maxPauseMs: 200 };

/**
 * The state of the node.
 * - `GET /v1/snapshot`; with `settled`, once it includes what is on disk now.
 * - `GET /v1/pod-table`: the cells that `ps` prints; with `wide`, as for `-o wide`.
 * - `GET /v1/pod-table/text`: the output of `ps` into a pipe; with `wide` too, and with `no-headers`.
 * - `GET /v1/history` of one pod.
 * - `GET /v1/stats`: the statistics, at most `maxAge` milliseconds old; with `cpuAndMemoryOnly`, these figures alone.
 * - `GET /v1/metrics`: for Prometheus, with `path` that of another page, such as `/metrics/resource`.
 */
export function stateRoutes(context: ControlContext): ControlRoutes {
  // Of a node with many pods each one takes megabytes, and tens of milliseconds.
  const snapshot = sharedWork(async () => bytesOfLongJSON({ pid: process.pid, ...(await context.view).snapshot() }), {
    clock: systemClock,
    ...snapshotPauses,
  });
  // An import of a loaded module takes half a millisecond.
  const listing = loadedOnce(loadListing);
  const podsOf = async (call: ControlCall): Promise<PodTable & { warnings: string[] }> => {
    const engine = await context.engineFor(call);
    const { podTable, nodeWarnings } = await listing();
    const snapshot = engine.snapshot({ brief: true });
    const options = { wide: call.query.has('wide'), now: systemClock.now() };
    return { ...(await podTable(snapshot.pods, snapshot, options)), warnings: nodeWarnings(snapshot, options) };
  };
  return {
    'GET /v1/snapshot': async (call) => {
      const engine = await context.engineFor(call);
      if (call.query.has('settled')) await engine.settled();
      sendBytes(context, call.response, await snapshot());
    },
    'GET /v1/pod-table': async (call) => {
      const { columns, rows, warnings } = await podsOf(call);
      const table: AgentTable = { columns, rows: await Promise.all(rows.map(measured)), warnings };
      sendJSON(context, call.response, table);
    },
    'GET /v1/pod-table/text': async (call) => {
      const { podTableText, linesText } = await import('../../engine/listing/pod-table-text.ts');
      const { warnings, ...table } = await podsOf(call);
      const texts: Texts = {
        stdout: await podTableText(table, { headers: !call.query.has('no-headers') }),
        stderr: linesText(warnings),
      };
      sendJSON(context, call.response, texts);
    },
    'GET /v1/history': async (call) => {
      const pod = { namespace: parameter(call, 'namespace'), name: parameter(call, 'name') };
      const engine = await context.engineFor(call);
      sendJSON(context, call.response, await engine.history(pod));
    },
    'GET /v1/stats': async (call) => {
      const engine = await context.engineFor(call);
      // A text that is no number asks for a new sample.
      const maxAgeMs = Number(call.query.get('maxAge')) || 0;
      const cpuAndMemoryOnly = call.query.has('cpuAndMemoryOnly');
      sendJSON(context, call.response, await engine.summary({ maxAgeMs, cpuAndMemoryOnly }));
    },
    'GET /v1/metrics': async (call) => {
      await context.engineFor(call);
      const path = metricsPaths.find((known) => known === (call.query.get('path') ?? '/metrics'));
      if (path === undefined) throw new ControlRefusal(404, 'not found');
      const page = await context.metrics.text(path);
      call.response.writeHead(200, { 'content-type': metricsContentType });
      call.response.end(page);
      context.unread.note(call.response);
    },
  };
}

/** Throws a `ControlRefusal` if the request lacks it. */
function parameter({ query }: ControlCall, name: string): string {
  const value = query.get(name);
  if (value) return value;
  throw new ControlRefusal(400, `the parameter ${name} is missing`);
}

async function loadListing() {
  const [table, warnings] = await Promise.all([
    import('../../engine/listing/pod-table.ts'),
    import('../../engine/listing/node-warnings.ts'),
  ]);
  return { ...table, ...warnings };
}

/** A row as `ps` prints it. The library that measures it is loaded only for other letters than ASCII. */
async function measured({ cells, colour }: PodTable['rows'][number]): Promise<AgentRow> {
  if (cells.every(isPlain)) return { cells, colour };
  const { displayWidth } = await import('../../display-width.ts');
  const texts = cells.map(visible);
  return { cells: texts, colour, widths: texts.map(displayWidth) };
}
