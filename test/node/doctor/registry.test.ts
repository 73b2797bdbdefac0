import { expect, test } from 'vitest';
import { readRegistry } from '../../../src/node/doctor/read-network-facts.ts';
import { WebServer } from '../../fakes/web-server.ts';

test('a registry is asked for its API over HTTPS, with http:// without TLS, and not where it redirects to', async () => {
  const server = await WebServer.start();
  server.answer = { status: 307, headers: { location: '/elsewhere' } };
  const host = new URL(server.origin).host;
  const [plain, secure] = [await readRegistry(`http://${host}`), await readRegistry(host)];
  expect({ plain, asked: server.requests.items.map(({ url }) => url) }).toEqual({
    plain: { url: `http://${host}/v2/`, answer: { status: 307 } },
    asked: ['/v2/'],
  });
  expect(secure).toEqual({ url: `https://${host}/v2/`, answer: { error: expect.any(String) as string } });
});
