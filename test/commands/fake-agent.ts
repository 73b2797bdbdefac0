import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname } from 'node:path';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';

/** What a command asked of the agent: method, path, and the body if there is one. */
export type Asked = [request: string, body?: unknown];

/**
 * An agent on this root-dir that gives every request the answer for its path. It ends at a request for one of the paths
 * `endsAt`. Returns what it was asked.
 */
export async function startFakeAgent(
  rootDir: string,
  answers: Readonly<Record<string, unknown>>,
  endsAt: readonly string[] = [],
): Promise<Asked[]> {
  const socket = controlSocketPath(rootDir);
  await mkdir(dirname(socket), { recursive: true, mode: 0o700 });
  const asked: Asked[] = [];
  const agent = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const { method = '', url = '' } = request;
      if (endsAt.includes(url)) {
        agent.closeAllConnections();
        return;
      }
      asked.push(method === 'POST' ? [`${method} ${url}`, await json(request)] : [`${method} ${url}`]);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[url.split('?')[0] ?? '']));
    };
    void answer();
  }).listen(socket);
  await once(agent, 'listening');
  onTestFinished(() => {
    agent.closeAllConnections();
    agent.close();
  });
  return asked;
}
