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
  const headers = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' };
  const answer = (status: number, text: string, others: Readonly<Record<string, string>> = {}): void => {
    send(response, status, { ...headers, ...others }, `${text}\n`);
  };
  if (request.method !== 'PUT') {
    answer(406, 'unsupported http method');
    return;
  }
  const { bytes, isWhole } = await readBody(request, maxBytes);
  const text = bytes.toString();
  const refuse = (reason: string): void => {
    // The connection cannot go on behind a body whose end is not read.
    answer(400, `strconv.ParseUint: parsing ${goQuote(text)}: ${reason}`, isWhole ? {} : { connection: 'close' });
  };
  if (!/^\d+$/.test(text)) refuse('invalid syntax');
  else if (!isWhole || Number(text) > maxLevel) refuse('value out of range');
  else {
    setVerbosity(Number(text));
    answer(200, `successfully set klog.logging.verbosity to ${text}`);
  }
}
