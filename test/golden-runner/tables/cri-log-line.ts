import { parseLogLine } from '../../../src/engine/logs/log-line.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  line?: string;
  lineBase64?: string;
}

export const criLogLine = tableAdapter<In>('cri-log-line', ({ line = '', lineBase64 }) => {
  const parsed = parseLogLine(lineBase64 === undefined ? Buffer.from(line) : Buffer.from(lineBase64, 'base64'));
  if (!parsed) return { ok: false };
  const log = Buffer.from(parsed.log);
  return { ok: true, ...parsed, log: log.toString(), logBase64: log.toString('base64') };
});
