/** Server-sent events out of a byte stream (WHATWG HTML §9.2), as far as HAI uses them. */

export interface IServerEvent {
  /** The last id seen, also when this event carries none. */
  id: string;
  /** The kind; `message` when the stream names none. */
  event: string;
  data: string;
}

/** Cuts text that arrives in arbitrary pieces into events. Comments and unknown fields are dropped. */
export class EventParser {
  private rest = '';
  private id = '';
  private event = '';
  private data: string[] = [];

  /** Take a piece; give the events that are complete with it. */
  push(piece: string): IServerEvent[] {
    const events: IServerEvent[] = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = this.line(line);
      if (event) {
        events.push(event);
      }
    }
    return events;
  }

  private line(line: string): IServerEvent | null {
    if (line === '') {
      return this.dispatch();
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') {
      this.id = value;
    } else if (name === 'event') {
      this.event = value;
    } else if (name === 'data') {
      this.data.push(value);
    }
    return null;
  }

  private dispatch(): IServerEvent | null {
    const { id, event, data } = this;
    this.event = '';
    this.data = [];
    return data.length > 0 || event !== '' ? { id, event: event || 'message', data: data.join('\n') } : null;
  }
}
