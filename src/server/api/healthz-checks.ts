import { goQuote } from '../../api/values/go-quote.ts';
import { send, sendError, sendPlain } from './answers.ts';
import type { Call, Mount } from './route-table.ts';

export interface HealthCheck {
  name: string;
  /** Returns undefined while healthy. */
  unhealthyBecause: () => string | undefined;
  /** True for a check of ours: it has no path, and shows its reason. */
  isShownOnlyFailing?: boolean;
}

/** Called with every result, by the name of its check. */
type RecordResult = (name: string, isOk: boolean) => void;

/** `/healthz` and one path for each check. kubelet: apiserver/pkg/server/healthz InstallHandler */
export function healthzMounts(checks: readonly HealthCheck[], note: RecordResult = () => undefined): Mount[] {
  return [
    {
      path: '/healthz',
      subresources: ['healthz', 'proxy'],
      handle: (call) => {
        answerAll(checks, note, call);
      },
    },
    ...checks.filter(({ isShownOnlyFailing }) => isShownOnlyFailing !== true).map(mountOf),
  ];
}

const mountOf = ({ name, unhealthyBecause }: HealthCheck): Mount => ({
  path: `/healthz/${name}`,
  subresources: ['healthz', 'proxy'],
  handle: ({ response }) => {
    const problem = unhealthyBecause();
    if (problem === undefined) sendPlain(response, 200, 'ok');
    else sendError(response, 500, `internal server error: ${problem}`);
  },
});

function answerAll(checks: readonly HealthCheck[], note: RecordResult, { response, query }: Call): void {
  const excluded = new Set(query.getAll('exclude'));
  const results = checks.flatMap((check) => {
    const { name, unhealthyBecause, isShownOnlyFailing = false } = check;
    if (!isShownOnlyFailing && excluded.delete(name)) return [{ line: `[+]${name} excluded: ok`, ok: true }];
    const problem = unhealthyBecause();
    const ok = problem === undefined;
    note(name, ok);
    if (ok) return isShownOnlyFailing ? [] : [{ line: `[+]${name} ok`, ok }];
    return [{ line: `[-]${name} failed: ${isShownOnlyFailing ? problem : 'reason withheld'}`, ok }];
  });
  const lines = results.map(({ line }) => `${line}\n`).join('');
  const unknown = [...excluded]
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(goQuote)
    .join(',');
  const warning = unknown === '' ? '' : `warn: some health checks cannot be excluded: no matches for ${unknown}\n`;
  if (!results.every(({ ok }) => ok)) {
    sendError(response, 500, `${lines}${warning}healthz check failed`);
    return;
  }
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  send(response, 200, headers, query.has('verbose') ? `${lines}${warning}healthz check passed\n` : 'ok');
}
