import { goQuote } from '../../api/values/go-quote.ts';
import { send } from './answers.ts';
import { readBody } from './request-body.ts';
import type { Call, Mount } from './route-table.ts';

const path = '/debug/flags/v';
const maxLevel = 2 ** 32 - 1;
/** A level is shorter. More of a body is not read. */
const maxBytes = 4096;

/** `PUT /debug/flags/v` sets the verbosity of the log. kubelet: server/server.go InstallDebugFlagsHandler */
export function debugFlagsMount(setVerbosity: (level: number) => void): Mount {
  return { path, subresources: ['proxy'], handle: (call) => setFlag(setVerbosity, call) };
}

/** kubelet: apiserver/pkg/server/routes/flags.go StringFlagPutHandler, component-base/logs GlogSetter */
async function setFlag(setVerbosity: (level: number) => void, { request, response }: Call): Promise<void> {
  const answer = (status: number, text: string): void => {
    send(response, status, { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' }, `${text}\n`);
  };
  if (request.method !== 'PUT') {
    answer(406, 'unsupported http method');
    return;
  }
  const text = (await readBody(request, maxBytes)).bytes.toString();
  const refuse = (reason: string): void => {
    answer(400, `strconv.ParseUint: parsing ${goQuote(text)}: ${reason}`);
  };
  if (!/^\d+$/.test(text)) refuse('invalid syntax');
  else if (Number(text) > maxLevel) refuse('value out of range');
  else {
    setVerbosity(Number(text));
    answer(200, `successfully set klog.logging.verbosity to ${text}`);
  }
}
