import { UserError } from '../errors.ts';

/** An agent that is there and cannot tell of its pods yet. */
export class AgentStartingError extends UserError {
  constructor(doing: string) {
    super(`kubelet-ts starts: ${doing}`, { hint: 'Ask again in a moment; kubelet-ts wait waits for it.' });
  }
}
