import { goQuote } from '../../api/values/go-quote.ts';
import { send } from './answers.ts';
import { readBodyStart } from './request-body.ts';
import type { Call, Mount } from './route-table.ts';

const path = '/debug/flags/v';
const maxUint32 = 2 ** 32 - 1;
const maxInt32 = 2 ** 31 - 1;
/** A level is shorter. The rest of a longer body is not read. */
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
  const { bytes, isWhole } = await readBodyStart(request, maxBytes);
  const text = bytes.toString();
  const problem = levelProblem(text, isWhole);
  // The connection cannot be reused after a body that was not read to its end.
  if (problem !== undefined) answer(400, problem, isWhole ? {} : { connection: 'close' });
  else {
    setVerbosity(Number(text));
    answer(200, `successfully set klog.logging.verbosity to ${text}`);
  }
}

/** Why a level is refused, once as a number without a sign and once as one with a sign. kubelet: klog Level.Set */
function levelProblem(text: string, isWhole: boolean): string | undefined {
  const parsing = `parsing ${goQuote(text)}`;
  if (!/^\d+$/.test(text)) return `strconv.ParseUint: ${parsing}: invalid syntax`;
  if (!isWhole || Number(text) > maxUint32) return `strconv.ParseUint: ${parsing}: value out of range`;
  if (Number(text) <= maxInt32) return undefined;
  return `failed set klog.logging.verbosity ${text}: strconv.ParseInt: ${parsing}: value out of range`;
}
