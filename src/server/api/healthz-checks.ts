import { sendError, sendPlain } from './answers.ts';
import type { Call, Mount } from './route-table.ts';
import { send } from './answers.ts';

export interface HealthCheck {
  name: string;
  /** Returns undefined while healthy. */
  unhealthyBecause: () => string | undefined;
}

/** `/healthz` and one path for each check. kubelet: apiserver/pkg/server/healthz InstallHandler */
export function healthzMounts(checks: readonly HealthCheck[]): Mount[] {
  return [
    {
      path: '/healthz',
      subresources: ['healthz', 'proxy'],
      handle: (call) => {
        answerAll(checks, call);
      },
    },
    ...checks.map((check): Mount => ({
      path: `/healthz/${check.name}`,
      subresources: ['healthz', 'proxy'],
      handle: ({ response }) => {
        const problem = check.unhealthyBecause();
        if (problem === undefined) sendPlain(response, 200, 'ok');
        else sendError(response, 500, `internal server error: ${problem}`);
      },
    })),
  ];
}

function answerAll(checks: readonly HealthCheck[], { response, query }: Call): void {
  const excluded = new Set(query.getAll('exclude'));
  const results = checks.map((check) => {
    if (excluded.delete(check.name)) return { line: `[+]${check.name} excluded: ok`, ok: true };
    const ok = check.unhealthyBecause() === undefined;
    return { line: ok ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`, ok };
  });
  const lines = results.map(({ line }) => `${line}\n`).join('');
  const warning =
    excluded.size === 0
      ? ''
      : `warn: some health checks cannot be excluded: no matches for ${[...excluded].map((name) => JSON.stringify(name)).join(', ')}\n`;
  if (!results.every(({ ok }) => ok)) {
    sendError(response, 500, `${lines}${warning}healthz check failed`);
    return;
  }
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  send(response, 200, headers, query.has('verbose') ? `${lines}${warning}healthz check passed\n` : 'ok');
}
