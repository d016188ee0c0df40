// The search of a page runs in a Worker, which browsers refuse to pages of the file system. There, a
// frame of the same page does its work.
"use strict";

class FrameWorker {
  onmessage = null;
  onerror = null;

  constructor(url) {
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inside = this.frame.contentWindow;
    // What the script inside sends goes to whoever made the worker.
    inside.postMessage = (data) => this.onmessage?.(new MessageEvent("message", { data }));
    const script = inside.document.createElement("script");
    this.isLoaded = new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = () => reject(new Error(url));
    });
    this.isLoaded.catch((error) => this.onerror?.(new ErrorEvent("error", { error })));
    script.src = new URL(url, location.href).href;
    inside.document.head.append(script);
  }

  postMessage(data) {
    const deliver = () => {
      const inside = this.frame.contentWindow;
      inside?.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) }));
    };
    this.isLoaded.then(deliver, () => {});
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") {
  window.Worker = FrameWorker;
}
