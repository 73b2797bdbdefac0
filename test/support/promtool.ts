import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** The one that scripts/setup downloads, or else the machine's. */
const ofSetup = join(import.meta.dirname, '../../.cache/promtool');

export const promtool = existsSync(ofSetup) ? ofSetup : 'promtool';

/** Returns every problem that promtool finds in a metrics page, one per line. */
export async function promtoolFaults(page: string): Promise<string[]> {
  const child = spawn(promtool, ['check', 'metrics'], { stdio: 'pipe' });
  child.stdin.end(page);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const lines = `${output}${errors}`.split('\n').filter((line) => line !== '');
  if (child.exitCode !== 0 && lines.length === 0) lines.push(`promtool ended with ${child.exitCode ?? 'a signal'}`);
  return [...new Set(lines)];
}
